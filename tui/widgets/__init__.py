"""The widgets of the app. They show what they are given and post messages; they own no truth."""
