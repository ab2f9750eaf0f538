"""Tables, figures and sentences of a report in the form that papers print."""
